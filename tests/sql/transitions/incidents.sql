-- Every cell of sql/transitions.tsv once more, for what a person has to see of it: an incident is one event with what was
-- brought, told by the list; an escalation stands on its proof, with a notice due at once; nothing else is either.
begin;
select no_plan();

-- What an effect's incidents say in the list: 'late by caller succeeded {"r":1} of done, attempt 1'
create function pg_temp.told(p_id uuid, p_after bigint) returns text language sql as $$
  select coalesce(string_agg(format('%s by %s %s %s of %s, attempt %s', i.kind, i.decided_by, i.outcome,
    coalesce(i.result_text, i.result_bytes || ' bytes', '-'), coalesce(i.state, 'nothing'), coalesce(i.attempt, 0)), '; ' order by i.id), '-')
  from effect.incidents('default', null, null, null, 100, null, null) i where i.effect = p_id and i.id > p_after $$;

-- Plays a cell and undoes it: '' if the list tells what it should, else what it does not.
create function pg_temp.look(p_cell effect_test.transition) returns text language plpgsql as $$
declare
  v_subject effect_test.subject;
  v_entry jsonb;
  v_before effect.ledger;
  v_row effect.ledger;
  v_event effect.event;
  v_last bigint;
  v_told text;
  v_want text;
  v_n integer;
  v_faults text[] := '{}';
begin
  begin
    v_subject := effect_test.bring('subject', p_cell.setup);
    select * into v_before from effect.ledger where id = v_subject.id;
    v_entry := effect_test.message(p_cell, v_subject) || '{"scope": "default"}';
    if p_cell.message = 'verdict' and v_entry ->> 'verdict' in ('landed', 'failed') then
      v_entry := v_entry || '{"result": "{\"r\":1}"}';
    end if;
    v_last := effect_test.last_event();
    perform effect_test.send(p_cell.message, v_entry);
    select * into v_row from effect.ledger where id = v_subject.id;
    select count(*) into v_n from effect.event e where e.effect = v_subject.id and e.id > v_last and e.incident;
    v_told := pg_temp.told(v_subject.id, v_last);

    if p_cell.incident = 'no' and v_told <> '-' then
      v_faults := v_faults || format('no incident, and the list tells %s', v_told);
    elsif p_cell.incident = 'yes' then
      select * into v_event from effect.event e where e.effect = v_subject.id and e.id > v_last and e.incident;
      v_want := format('%s by %s %s %s of %s, attempt %s', split_part(p_cell.events, ',', 1),
        case p_cell.message when 'verdict' then 'probe' else 'caller' end,
        case when p_cell.message = 'verdict' then case v_entry ->> 'verdict' when 'landed' then 'succeeded' else 'failed' end
          else nullif(coalesce(v_entry ->> 'outcome', 'succeeded'), 'error') end,
        -- both attempts landed: what the first one brought; landed after a release: the row has it
        case when p_cell.token = 'last' and p_cell.setup like '%evidence%' then '{"first":true}'
          when p_cell.message = 'verdict' and p_cell.before = 'released' then '-'
          when p_cell.before = 'none' or v_subject.tool = 'nokeep' then '7 bytes' else v_entry ->> 'result' end,
        case p_cell.after when 'none' then 'nothing' else v_row.state::text end,
        case when p_cell.before = 'none' then 0
          when p_cell.token = 'earlier' or p_cell.setup like '%evidence%' then v_subject.attempts[1]
          else v_subject.attempts[cardinality(v_subject.attempts)] end);
      if v_n <> 1 or v_told is distinct from v_want then
        v_faults := v_faults || format(E'\n  want: one, %s\n  told: %s, %s', v_want, v_n, v_told);
      end if;
      if (v_event.scope, coalesce(v_event.tool, v_subject.tool), coalesce(v_event.key, 'subject'))
          is distinct from ('default', v_subject.tool, 'subject') then
        v_faults := v_faults || format('it is said to be of %s %s %s', v_event.scope, v_event.tool, v_event.key);
      end if;
    end if;

    if p_cell.after = 'escalated' and p_cell.before <> 'escalated' then
      select * into v_event from effect.event e where e.id = v_row.evidence;
      if (v_event.effect, v_event.attempt, v_event.outcome::text, v_event.result, v_event.incident)
          is distinct from (v_subject.id, v_subject.attempts[1], 'succeeded', '{"r":1}', false) then
        v_faults := v_faults || format('its evidence is %s', to_jsonb(v_event));
      end if;
      if v_row.due_at > effect.now() or v_row.done_at is not null or v_row.token <> v_before.token then
        v_faults := v_faults || 'it is not due at once, not open, or not its holder''s any more'::text;
      end if;
      if effect_test.task(effect_test.sweep(100, 0, true), 'notify', v_subject.id) ->> 'notice_no' is distinct from '1' then
        v_faults := v_faults || 'no first notice is handed out'::text;
      end if;
    elsif v_row.state = 'escalated' and (v_row.evidence, v_row.since, v_row.due_at)
        is distinct from (coalesce(v_before.evidence, v_row.evidence), v_before.since, v_before.due_at) then
      v_faults := v_faults || 'what was escalated already is not as it was'::text;
    end if;
    raise exception using errcode = 'ZT000';
  exception
    when sqlstate 'ZT000' then
      null;
    when others then
      v_faults := v_faults || format('%s (%s)', sqlerrm, sqlstate);
  end;
  return array_to_string(v_faults, '; ');
end
$$;
select is(pg_temp.look(t), '', format('%s: incident %s, then %s', t.cell, t.incident, t.after))
from effect_test.transition t order by t.cell;

-- The table says it of every cell, so that none is looked at in vain.
select is_empty($$ select cell from effect_test.transition where incident not in ('yes', 'no') $$, 'each cell says whether it is an incident');
select is_empty($$ select m.message, m.state, m.token from (values
    ('complete', 'released', 'last'), ('complete', 'done', 'last'), ('complete', 'done', 'earlier'), ('verdict', 'done', 'earlier'),
    ('verdict', 'released', 'last'), ('verdict', 'done', 'last'), ('complete', 'none', 'other'), ('complete', 'none', 'last'),
    ('complete', 'pending', 'other'), ('complete', 'unknown', 'other'), ('complete', 'escalated', 'other'),
    ('complete', 'released', 'other'), ('complete', 'done', 'other')) m(message, state, token)
  where not exists (select from effect_test.transition t
    where t.message = m.message and t.before = m.state and t.token = m.token and t.incident = 'yes') $$,
  'where there is to be an incident, the table has one');
select is_empty($$ select m.message, m.state from (values ('complete', 'pending'), ('complete', 'unknown'), ('complete', 'released'),
    ('verdict', 'pending'), ('verdict', 'unknown'), ('verdict', 'released')) m(message, state)
  where not exists (select from effect_test.transition t
    where t.message = m.message and t.before = m.state and t.token = 'earlier' and t.after = 'escalated') $$,
  'where an earlier attempt landed, each open and released state goes to people');
select * from finish();
rollback;
