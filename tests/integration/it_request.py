#!/usr/bin/python3
"""The request id: the same call of begin gets the same grant again where nobody can have been told it, else it is busy. And a
claim that turns out to stand though its caller was told nothing is given back."""
from harness import *
from world import begin_all, count, kinds, name_of, state_of, tell, unread

TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}


class Ask:
    """One call of begin, with its own request."""
    n = 0

    def __init__(self, **more):
        Ask.n += 1
        self.params = {'tool': 'pay', 'key': f'k{Ask.n}', 'request': request_id(), **more}

    def __call__(self, conn, **more):
        return conn.call('begin', {**self.params, **more})


def token_of(cluster, key):
    return cluster.psql(f"select token from effect.ledger where key = '{key}'")


def told(daemon):
    a, b = daemon.connect(), daemon.connect()
    ask = Ask()
    run = ask(a)
    is_(ask(a)['decision'], 'busy', 'a run that was read is not told again on its connection')
    is_(ask(b)['decision'], 'busy', 'nor on another')
    a.close()
    is_(ask(b)['decision'], 'busy', 'nor after an orderly end of the first')
    is_(name_of(b, 'begin', {**ask.params, 'args': {'x': 1}}), 'mismatch', 'other args come before that')
    b.call('complete', effect=run['effect'], token=run['token'], result=1)
    is_(ask(b)['decision'], 'replay', 'a done effect is replayed to its own request')


def unread_run(daemon, cluster):
    """(b): the line was the last on a connection that was reset."""
    b = daemon.connect()
    ok_ = 0
    for _ in range(20):
        ask = Ask()
        a = daemon.connect()
        a.send('begin', ask.params)
        unread(a)
        token = token_of(cluster, ask.params['key']) if not ok_ else None
        a.reset()
        again = ask(b)
        ok_ += again['decision'] == 'run' and again['attempt'] == 1 and token in (None, again['token'])
    is_(ok_, 20, 'who closed with its run unread is granted it again, 20 times')
    is_(kinds(b, again['effect']), ['regranted'], 'and that is an event')
    is_(ask(b)['decision'], 'busy', 'once')

    ask = Ask()
    a = daemon.connect()
    a.send('begin', ask.params)
    unread(a)
    a.send('info')
    unread(a, 2)
    a.reset()
    is_(ask(b)['decision'], 'busy', 'a run that was not the last line may have been read: busy')


def full_pipe(daemon, cluster):
    """(b): the kernel never took the line."""
    a, b = daemon.connect(), daemon.connect()
    ask = Ask()
    for _ in range(6):
        for _ in range(200):
            a.send('tools')
    a.send('begin', ask.params)
    key = ask.params['key']
    wait_until(lambda: token_of(cluster, key), 20, 'it was claimed')
    token = token_of(cluster, key)
    is_(ask(b)['decision'], 'busy', 'a run that still waits to be written is not told elsewhere')
    a.reset()
    again = ask(b)
    is_((again['decision'], again.get('token')), ('run', token), 'a run whose line never left us is granted again')


def restart(daemon):
    """(c): an earlier boot granted it."""
    for how in ('kill', 'stop'):
        with daemon.connect() as a:
            ask, extended, done_ = Ask(), Ask(), Ask()
            run = ask(a)
            mine = extended(a)
            a.call('extend', effect=mine['effect'], token=mine['token'], lease_ms=600000)
            mine = done_(a)
            a.call('complete', effect=mine['effect'], token=mine['token'], result=1)
        getattr(daemon, how)()
        daemon.start().ready()
        with daemon.connect() as b:
            again = ask(b)
            is_((again['decision'], again.get('token'), again['attempt']), ('run', run['token'], 1),
                f'after a {how} and a start the same request gets the same grant')
            ok(again['lease_ms'] <= run['lease_ms'], 'with what is left of its lease')
            is_(ask(b)['decision'], 'busy', 'once')
            is_(extended(b)['decision'], 'busy', 'a grant that was extended was told')
            is_(done_(b)['decision'], 'replay', 'a done one is replayed')
            is_(name_of(b, 'begin', tool='pay', key=ask.params['key'], request=request_id()), 'busy', 'another request is busy')


def at_once(daemon, cluster):
    tallies = []
    conns = [daemon.connect() for _ in range(4)]
    for _ in range(40):
        tallies.append(count(begin_all(conns, **Ask().params)))
    is_([t for t in tallies if t.get('run') != 1 or t.get('busy') != 3], [], 'one request on four connections at once: one run')
    a, tallies = conns[0], []
    for _ in range(40):
        ask = Ask()
        ids = [1000, 1001, 1002]
        a.send_raw(b''.join(a.line('begin', ask.params, i) for i in ids))
        tallies.append(count([a.recv(i) for i in ids]))
    is_([t for t in tallies if t.get('run') != 1 or t.get('busy') != 2], [], 'three times in one write: one run')
    ask = Ask()
    cluster.freeze()
    ids = [conn.send('begin', ask.params, deadline_ms=20000) for conn in conns]
    cluster.thaw()
    is_(count([conn.recv(i) for conn, i in zip(conns, ids)]), {'busy': 3, 'run': 1}, 'while the ledger hangs: one run')


def hung(daemon, cluster):
    """The claim was sent and its caller was told `unavailable`, or left, before the ledger went on."""
    a, b = daemon.connect(), daemon.connect()
    plain, asked, waiting, gone = Ask(), Ask(), Ask(), Ask()
    del plain.params['request']
    a.call('begin', tool='pay', key='warm')
    cluster.freeze()
    is_(name_of(a, 'begin', {**plain.params, 'deadline_ms': 100}), 'unavailable', 'a begin whose ledger hangs is unavailable at its deadline')
    is_(name_of(a, 'begin', {**asked.params, 'deadline_ms': 100}), 'unavailable', 'with a request, too')
    words = {name_of(a, 'begin', {**asked.params, 'deadline_ms': 50}) for _ in range(5)}
    is_(words, {'unavailable'}, 'and again with the same request: never busy against itself')
    b.send('begin', gone.params)
    b.send('begin', {**waiting.params, 'wait_ms': 30000})
    is_(a.call('key', tool='pay', key='x')['key'], 'x', 'key answers meanwhile')
    b.close()
    cluster.thaw()
    again = wait_until(lambda: (r := ask_or_none(asked, a)) and r, 20, 'the ledger answers')
    is_((again['decision'], again.get('attempt')), ('run', 1), 'its own request is granted when the ledger is back')
    is_(asked(a)['decision'], 'busy', 'once')
    wait_until(lambda: name_of(a, 'begin', plain.params) == 'run', 20, 'a begin that the ledger executes too late grants nothing')
    is_(token_of(cluster, plain.params['key'] + "' and attempt = '1") != '', True, 'a begin that the ledger executes too late grants nothing')
    # its line was dropped unsent, or its claim was given back: either way the key is free
    wait_until(lambda: name_of(a, 'begin', tool='pay', key=gone.params['key']) == 'run', 20, 'a claim whose caller left does not stand')
    wait_until(lambda: name_of(a, 'begin', tool='pay', key=waiting.params['key']) == 'run', 20, 'nor one whose caller left while it waited')


def ask_or_none(ask, conn):
    try:
        return ask(conn)
    except RpcError as e:
        if e.name != 'unavailable':
            raise
        return None


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOL) as the_daemon:
    the_daemon.ready()
    told(the_daemon)
    unread_run(the_daemon, the_cluster)
    full_pipe(the_daemon, the_cluster)
    at_once(the_daemon, the_cluster)
    hung(the_daemon, the_cluster)
    restart(the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
