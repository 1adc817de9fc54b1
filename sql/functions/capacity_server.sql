-- Of effect.report_capacity: who keeps vacuum from its work, how far transaction ids are used up, load and connections. Of
-- sessions of other roles the server tells only members of pg_read_all_stats when their transaction began.
create or replace function effect.capacity_server(p_from timestamptz, p_to timestamptz)
returns table (what text, namespace text, tool text, value numeric, unit text, note text, look json)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with session as materialized (
    select a.pid, a.usename, a.application_name, extract(epoch from effect.now() - a.xact_start)::numeric as seconds,
      a.state is null and a.backend_type is null as hidden
    from pg_stat_activity a
    where a.datid = (select d.oid from pg_database d where d.datname = current_database()) and a.pid <> pg_backend_pid()
  ), oldest as (
    select s.* from session s where s.seconds is not null order by s.seconds desc limit 1
  ), hidden as (
    select count(*) as n from session s where s.hidden
  ), prepared as (
    select count(*) as n, max(extract(epoch from effect.now() - p.prepared))::numeric as seconds
    from pg_prepared_xacts p where p.database = current_database()
  ), used as (
    select sum(d.numbackends)::numeric as n, current_setting('max_connections')::integer as n_max from pg_stat_database d
  ), peak as (
    -- older slots are whole hours by now
    select max(m.n) as n
    from (select sum(s.n) as n from effect.stat s
      where s.minute >= greatest(p_from, effect.now() - interval '47 hours') and s.minute < p_to
        and s.decision in ('run', 'replay', 'busy', 'mismatch', 'unknown', 'escalated', 'exhausted', 'held', 'pass', 'ran',
          'tool_failed')
      group by s.minute) as m
  ), xid as (
    select age(d.datfrozenxid)::numeric as n from pg_database d where d.datname = current_database()
  )
  select 'oldest transaction', null::text, null::text, round(o.seconds, 1), 's',
    coalesce('process ' || o.pid, case h.n when 0 then 'none is open' else 'none is seen' end)
      || case h.n when 0 then '' when 1 then '; 1 session of another role cannot be seen into'
        else format('; %s sessions of other roles cannot be seen into', h.n) end,
    effect.findings(effect.finding(o.seconds >= 600, 'old_transaction', 'warning',
      format('process %s has had a transaction open for %s: no dead row is cleaned up meanwhile', o.pid,
        effect.duration_words(o.seconds::float8 * 1000)),
      format('psql -c ''select * from pg_stat_activity where pid = %s''', o.pid)))
  from hidden h left join oldest o on true
  union all
  select 'prepared transactions', null, null, p.n, 'transactions', case when p.n > 0
      then 'the oldest for ' || effect.duration_words(p.seconds::float8 * 1000) end,
    effect.findings(effect.finding(p.seconds >= 600, 'old_prepared_transaction', 'warning',
      format('a transaction was prepared %s ago and neither committed nor rolled back: no dead row is cleaned up meanwhile',
        effect.duration_words(p.seconds::float8 * 1000)),
      'psql -c ''select * from pg_prepared_xacts order by prepared'''))
  from prepared p
  union all
  select 'age of transaction ids', null, null, x.n, 'transactions', 'of 2,100 million', effect.findings(
    effect.finding(x.n >= 1000000000, 'xid_age', 'warning',
      format('%s million transaction ids are used up since the last freeze, and at 2,100 million the server takes no more writes',
        round(x.n / 1e6)), 'psql -c ''vacuum (freeze, verbose)'''))
  from xid x
  union all
  select 'peak of calls a minute', null, null, p.n, 'calls', 'of all daemons, in the last 47 hours at most', null from peak p
  union all
  select 'connections', null, null, u.n, 'connections', format('of at most %s, all databases of the server', u.n_max),
    effect.findings(effect.finding(u.n >= u.n_max * 0.9, 'connections_full', 'warning',
      format('%s of the server''s %s connections are used', u.n, u.n_max),
      'psql -c ''select usename, application_name, count(*) from pg_stat_activity group by 1, 2 order by 3 desc'''))
  from used u
$$;
