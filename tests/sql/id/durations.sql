-- Durations of policies: [0-9]{1,9}(ms|s|m|h|d), and nothing else.
begin;
select no_plan();
select is(effect.duration_ms(t), ms::bigint, t)
  from (values ('0s', 0), ('1ms', 1), ('60s', 60000), ('2m', 120000), ('24h', 86400000), ('3650d', 315360000000),
  ('007s', 7000)) v(t, ms);
select throws_ok(format('select effect.duration_ms(%L)', t), 'ZE003', null, format('"%s" is refused', t))
  from unnest(array['', '60', '-1s', '1.5s', '1 s', '1S', 's', '1w', '1s ', ' 1s', '1234567890s', E'1s\n', '1e3s', '٣s']) t;
select * from finish();
rollback;
