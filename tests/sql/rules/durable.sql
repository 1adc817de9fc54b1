-- A session's own synchronous_commit = off or local does not reach a write: it is raised for the transaction.
select no_plan();
create table calls (name text, call text);
insert into calls values
  ('begin', $$ effect_test.begin('{"key": "a"}') $$), ('complete', $$ effect_test.complete('{"key": "a"}') $$),
    ('release', $$ effect_test.release('{"key": "a"}') $$),
  ('unknown', $$ effect_test.unknown('{"key": "a"}') $$), ('extend', $$ effect_test.extend('{"key": "a"}') $$),
  ('verdict', $$ effect_test.verdict('{"key": "a", "verdict": "landed"}') $$),
    ('resolve', $$ effect_test.resolve('{"key": "a", "verdict": "landed"}') $$),
  ('sweep', $$ effect_test.sweep() $$);
create function pg_temp.after(p_call text, p_setting text) returns text language plpgsql as $$
declare
  v_seen text;
begin
  begin
    perform set_config('synchronous_commit', p_setting, true);
    execute 'select ' || p_call;
    v_seen := current_setting('synchronous_commit');
    raise sqlstate 'ZT000';
  exception when sqlstate 'ZT000' then
    return v_seen;
  end;
end
$$;
select effect_test.begin(effect_test.e('a', 't1')) \gset
select is(pg_temp.after(call, setting), want, name || ' where it was ' || setting)
from calls,
  (values ('off', 'on'), ('local', 'on'), ('on', 'on'), ('remote_apply', 'remote_apply'),
  ('remote_write', 'remote_write')) s(setting, want) order by name, setting;
-- for this transaction only
set synchronous_commit = off;
select effect_test.begin(effect_test.e('b', 't1')) \gset
select is(current_setting('synchronous_commit'), 'off', 'the session''s own setting is its own again afterwards');
select * from finish();
