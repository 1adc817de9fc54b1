-- effect.id: SHA-256 of the length-prefixed parts, as a UUID of version 8. The expected values were made by other programs.
begin;
select no_plan();
select is(effect.id(n, t, k), want::uuid, format('id of (%s, %s, %s)', n, t, left(k, 20))) from (values
  ('default', 'refund_order', 'refund:1042:3', 'a3cd4fef-fce9-857e-b3fd-defbf92538ef'),
  ('default', 't', 'k', '221f8eaf-df3c-8f2a-a46f-53985ddc88d5'),
  ('a', 'bc', 'd', 'f15d229c-b998-84b4-bb3e-b825d886c6d9'),
  ('ab', 'c', 'd', 'febb2fc5-e2b7-808f-aafc-5d7b28689b27'),
  ('a', 'b', 'cd', '318a4889-8384-8ff8-9c0d-97e3b5466b3e'),
  ('n', 't', 'Grüße 😀', '14e1ade2-3678-8223-9fd6-86021ac52cc7'),
  ('n', 't', 'it''s', '8633d420-5e51-8d57-b6cc-a7ab74a39545'),
  ('n', 't', repeat('k', 255), 'cd642cc9-f1a2-8197-a4cf-99f8d1d6263d'),
  ('default', 'send_email', '%20', 'adf64507-2a53-89fe-9ec2-c82e42ca83d6')) v(n, t, k, want);
select is(count(distinct effect.id(n, t, k)), 3::bigint, 'parts cannot run into each other')
  from (values ('a', 'bc', 'd'), ('ab', 'c', 'd'), ('a', 'b', 'cd')) v(n, t, k);
select ok(effect.id('n', 't', i::text)::text ~ '^.{14}8.{4}[89ab]', 'version 8, RFC variant: ' || i)
  from generate_series(1, 16) i;
select * from finish();
rollback;
