-- Who may do what in SQL. Run after every install and upgrade; idempotent. The daemon's role can call functions and nothing
-- else; the report role can read views and counts, and call the reports, and nothing else.
revoke all on schema effect from public;
revoke all on all tables in schema effect from public, effect_daemon, effect_report;
revoke all on all functions in schema effect from public, effect_daemon, effect_report;
grant usage on schema effect to effect_daemon, effect_report;
grant execute on function
  effect.begin, effect.begin_guarded, effect.complete, effect.release, effect.unknown, effect.extend, effect.resolve,
  effect.get, effect.list, effect.incidents, effect.scan, effect.incident, effect.peek, effect.policy_of, effect.sweep,
  effect.probe_now, effect.probe_look, effect.would, effect.verdict, effect.notified, effect.retain, effect.forget_events,
  effect.open_counts, effect.stat_add, effect.stat_roll, effect.daemon_policies, effect.fleet, effect.policies_differ,
  effect.report, effect.execute_failed, effect.register_tools, effect.check_invariants, effect.now
  to effect_daemon;
-- Everybody may ask from a session of his own; these look into effect.access before all else, or take only what this very
-- transaction claimed.
grant usage on schema effect to public;
grant execute on function effect.begin_here, effect.complete_here, effect.execute_begin, effect.execute_done to public;
grant select on effect.schema_version to effect_daemon, effect_report;
grant execute on function effect.id to effect_daemon, effect_report;
-- The reports from psql: p_scope null is all namespaces.
grant execute on function effect.report, effect.report_summary, effect.report_stuck, effect.report_escalated,
  effect.report_incidents, effect.report_duplicates, effect.report_mismatches, effect.report_churn, effect.report_budgets,
  effect.report_timeouts, effect.report_retention, effect.report_capacity, effect.report_daily,
  effect.daemons, effect.counts_missing to effect_report;
grant select on effect.effects, effect.open_effects, effect.history, effect.incidents, effect.turns, effect.stat to effect_report;
