-- Every cell of sql/transitions.tsv, alone and as the middle of a batch whose neighbours are answered right.
-- Cases 1, 8, 10, 13, 16, 20, 24, 27, 29, 39, 82, 86.
begin;
select no_plan();
select is(effect_test.play(t, batch), '', format('%s%s: %s with token %s on %s', t.cell,
  case when batch then ' in a batch' else '' end, t.message, t.token, t.before))
from effect_test.transition t, (values (false), (true)) b(batch)
order by batch, t.cell;

-- The table is whole: every message meets every state with every kind of token.
select ok(exists (select from effect_test.transition t where t.message = m.message and t.before = s.state and t.token = k.token),
  format('the table has %s with token %s on %s', m.message, k.token, s.state))
from unnest(array['complete', 'release', 'unknown', 'extend']) m(message),
  unnest(array['pending', 'unknown', 'escalated', 'released', 'done']) s(state),
  unnest(array['last', 'earlier', 'other']) k(token);
select ok(exists (select from effect_test.transition t where t.message = 'verdict' and t.before = s.state and t.token = 'last'
    and t.args like 'verdict=' || v.verdict || '%'), format('the table has verdict %s on %s', v.verdict, s.state))
from unnest(array['landed', 'failed', 'absent']) v(verdict),
  unnest(array['pending', 'unknown', 'escalated', 'released', 'done']) s(state);
select ok(exists (select from effect_test.transition t where t.message = 'resolve' and t.before = s.state
    and t.args like 'verdict=' || v.verdict || '%'), format('the table has resolve %s on %s', v.verdict, s.state))
from unnest(array['landed', 'failed', 'absent']) v(verdict),
  unnest(array['pending', 'unknown', 'escalated', 'released', 'done']) s(state);
select * from finish();
rollback;
