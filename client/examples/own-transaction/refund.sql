-- Refunds that are rows of the ledger's own database, each booked once: see README.md beside this file.
create schema shop;
create table shop.refund (
  id bigint generated always as identity primary key,
  order_id bigint not null,
  line integer not null,
  amount numeric not null,
  booked_at timestamptz not null default now()
);

create function shop.refund(p_order bigint, p_line integer, p_amount numeric) returns json
language plpgsql as $$
declare
  v_claim record;
  v_result json;
begin
  -- The key says which refund this is: the business's own words. The fingerprint says with which arguments, in any 32 hex digits
  -- that are the same for the same; where the tool is begun over the socket, too, those that the method `key` tells.
  select * into v_claim
  from effect.begin_here('default', 'book_refund', format('refund:%s:%s', p_order, p_line), md5(trim_scale(p_amount)::text));

  if v_claim.decision = 'replay' then
    return v_claim.result::json;
  elsif v_claim.decision <> 'run' then
    raise exception 'refund of order %, line %: %', p_order, p_line, v_claim.decision
      using hint = case v_claim.decision when 'busy' then 'Another transaction is at it: ask again.'
        when 'mismatch' then 'This line was refunded with another amount.' end;
  end if;

  insert into shop.refund (order_id, line, amount) values (p_order, p_line, p_amount)
  returning json_build_object('refund', id, 'amount', amount) into v_result;
  perform effect.complete_here(v_claim.effect, v_claim.token, v_result);
  return v_result;
end
$$;

-- Who may: shop_app, in this namespace. Nobody else can claim in it from a session of his own.
create role shop_app login;
grant usage on schema shop to shop_app;
grant select, insert on shop.refund to shop_app;
select effect.allow('shop_app', 'default');
