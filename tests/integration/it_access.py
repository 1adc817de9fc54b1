#!/usr/bin/python3
"""Who may do what: the kernel's word on the peer decides namespace and role; nobody reaches what is another's, by name or by id.
Cases 39 and 141."""
import grp
import os
import pwd

from harness import *
from talk import *

ROLES = {
    'wrapper': 'begin complete release unknown extend key get list tools info',
    'observer': 'get list tools info report scan',
    'operator': 'get list tools info report scan resolve probe incident',
}
ID = '11111111-1111-4111-8111-111111111111'
CALLS = {
    'begin': {'tool': 't', 'key': 'matrix'}, 'key': {'tool': 't', 'key': 'matrix'}, 'complete': {'effect': ID, 'token': ID},
    'release': {'effect': ID, 'token': ID}, 'unknown': {'effect': ID, 'token': ID}, 'extend': {'effect': ID, 'token': ID},
    'get': {'effect': ID}, 'list': {}, 'tools': {}, 'info': {}, 'probe': {'effect': ID}, 'report': {'name': 'summary'},
    'scan': {'tool': 't'}, 'incident': {'effect': ID, 'reason': 'x'},
    'resolve': {'effect': ID, 'verdict': 'landed', 'reason': 'x', 'attempt': 1, 'state': 'unknown'},
}
TOOLS = [{'name': 't', 'escalate_after': '1h'}, {'name': 'only_a', 'namespace': 'a'}, {'name': 't', 'namespace': 'b', 'lease': '7s', 'escalate_after': '1h'}]
# any two users that are not root, and a group that none of them is in
ONE, TWO, THREE = pwd.getpwnam('nobody'), pwd.getpwnam('daemon'), pwd.getpwnam('bin')
GROUP = grp.getgrnam('games')


def told(conn, method, **more):
    answer = conn.recv(conn.send(method, {**CALLS[method], **more}))
    return 'result' if 'result' in answer else answer['error']['data']['name']


def allowed(conn, what, roles, **more):
    may = {name for role in roles for name in ROLES[role].split()} | {'info'}
    for method in CALLS:
        got = told(conn, method, **(more if method in ('begin', 'key') else {}))
        if method in may:
            ok(got in ('result', 'not_found'), f'{what} may {method}', got)
        else:
            is_(got, 'denied', f'{what} may not {method}')


def without_sections(cluster):
    with Daemon(cluster, config=f'socket_mode = "0666"\nsocket_group = "{GROUP.gr_name}"\n', tools=TOOLS) as daemon:
        daemon.ready()
        with peer(daemon) as conn:
            allowed(conn, 'root', ('wrapper', 'observer', 'operator'))
            is_(conn.call('info')['peer']['uid'], 0, 'and is known to be root')
        with peer(daemon, ONE) as conn:
            allowed(conn, 'a stranger', ())
            me = conn.call('info')['peer']
            is_((me['uid'], me['gid'], me['pid'], me['namespaces']), (ONE.pw_uid, ONE.pw_gid, os.getpid(), []), 'info tells it why')
            is_(conn.error('begin', tool='t', key='k', namespace='default')['code'], -32003, 'naming the namespace does not help')
        with peer(daemon, TWO, [GROUP.gr_gid]) as conn:
            allowed(conn, 'a member of the socket\'s group', ('wrapper',))
            is_(conn.call('info')['peer']['namespaces'], [{'name': 'default', 'roles': ['wrapper']}], 'info tells its role')
        is_((os.stat(daemon.socket).st_gid, os.stat(daemon.socket).st_mode & 0o777), (GROUP.gr_gid, 0o666), 'the socket has its group and mode')


def sections(cluster):
    """Two namespaces, the same tool and key: cases 39 and 141."""
    config = f'''
socket_mode = "0666"
namespace a {{ wrappers = {{"user:{ONE.pw_name}"}} operators = {{"user:{THREE.pw_uid}"}} }}
namespace b {{ wrappers = {{"group:{GROUP.gr_name}"}} observers = {{"user:{THREE.pw_name}"}} }}
namespace c {{ wrappers = {{"user:{THREE.pw_name}"}} operators = {{"user:{THREE.pw_name}"}} }}
'''
    with Daemon(cluster, config=config, tools=TOOLS) as daemon:
        with daemon.connect() as conn:
            wait_until(lambda: conn.call('info')['ready'])
            allowed(conn, 'root, which no section names,', ())
        with peer(daemon, ONE) as one, peer(daemon, TWO, [GROUP.gr_gid, 12345]) as two, peer(daemon, THREE) as three:
            run = {'a': claim(one, 'same', args={'who': 'one'}), 'b': claim(two, 'same', args={'who': 'two'})}
            isnt(run['a']['effect'], run['b']['effect'], 'case 39: the same key in two namespaces is two effects')
            is_((run['a']['lease_ms'], run['b']['lease_ms']), (60000, 7000), 'each by its own namespace\'s policy')
            for mine, theirs, who in ((one, 'b', 'one'), (two, 'a', 'two')):
                other = own_ids(run[theirs])
                for method in ('complete', 'release', 'unknown', 'extend'):
                    is_(mine.error(method, other)['data'], {'name': 'not_found'}, f'{who}: {method} of another namespace\'s effect is not_found, '
                        'with its very token')
                is_(mine.error('get', effect=other['effect'])['data'], {'name': 'not_found'}, f'{who}: get, too')
                for method in ('begin', 'key', 'get'):
                    is_(mine.error(method, tool='t', key='same', namespace=theirs)['data'], {'name': 'denied'}, f'{who}: {method} there is denied')
                is_(mine.error('list', namespace=theirs)['data'], {'name': 'denied'}, f'{who}: list there is denied')
                is_(mine.error('begin', tool='t', key='same', namespace='nowhere')['data'], {'name': 'denied'}, 'as it is where there is no namespace')
                is_([row['key'] for row in mine.call('list')['effects']], ['same'], f'{who}: list shows its own')
                is_(mine.call('list', limit=1000)['effects'][0]['effect'], run['a' if theirs == 'b' else 'b']['effect'], 'and only that')
                is_(state_of(mine, run['a' if theirs == 'b' else 'b']['effect']), 'pending', 'which stands untouched')
            one.call('complete', **own_ids(run['a']), result={'credential': 'of one'})
            is_(two.call('begin', tool='t', key='same', args={'who': 'two'})['decision'], 'busy', 'case 141: no replay crosses over')
            is_(two.call('begin', tool='t', key='same', args={'who': 'one'})['decision'], 'mismatch', 'not by the same args either')
            is_(sorted(tool['name'] + tool.get('namespace', '') for tool in one.call('tools')['tools']), ['only_aa', 'ta'], 'tools are those of one\'s own')
            is_([tool['lease'] for tool in two.call('tools')['tools'] if tool['name'] == 't' and tool.get('namespace') == 'b'], ['7s'], 'as begin uses them')
            # roles in several namespaces
            error = three.error('get', tool='t', key='same')
            is_((error['code'], error['data']['pointer']), (-32602, '/namespace'), 'a peer of several namespaces names one')
            is_(three.call('begin', tool='t', key='mine')['effect'], three.call('get', tool='t', key='mine', namespace='c')['effect'],
                'or has only one in which it may do this')
            is_(three.error('begin', tool='t', key='same', namespace='a')['data']['name'], 'denied', 'an operator does not begin')
            is_(three.error('begin', tool='t', key='same', namespace='b')['data']['name'], 'denied', 'an observer does not begin')
            is_(three.error('complete', **own_ids(run['b']))['data']['name'], 'not_found', 'nor does it complete')
            is_((state_of(three, run['b']['effect']), sorted(row['namespace'] for row in three.call('list')['effects'])), ('pending', ['a', 'b', 'c']),
                'it sees all of them')
            is_(two.call('unknown', **own_ids(run['b']))['state'], 'unknown', 'the outcome of b is open')
            resolve = {'verdict': 'landed', 'reason': 'seen', 'attempt': 1, 'state': 'unknown'}
            is_(three.error('resolve', effect=run['b']['effect'], **resolve)['data'], {'name': 'not_found'}, 'who only observes b cannot resolve there')
            is_(two.error('resolve', effect=run['b']['effect'], **resolve)['data'], {'name': 'denied'}, 'nor can its wrapper')
            again = claim(one, 'open')
            one.call('unknown', **own_ids(again))
            is_(three.call('resolve', effect=again['effect'], **resolve), {'state': 'done'}, 'the operator of a can in a')
            events = one.call('get', effect=again['effect'])['events']
            is_([event['by'] for event in events if event['kind'] == 'resolved'], [f'uid:{THREE.pw_uid}'], 'and is named')
            # a reload changes the rights of those who are there
            daemon.configure(config.replace(f'wrappers = {{"user:{ONE.pw_name}"}}', 'observers = {"user:0"}'))
            daemon.hup()
            wait_until(lambda: told(one, 'begin', key='after') == 'denied', 10, 'the right is gone')
            is_(told(one, 'get', effect=run['a']['effect']), 'denied', 'a reload takes rights from open connections')
            is_(two.call('begin', tool='t', key='after')['decision'], 'run', 'and leaves the others')
        with peer(daemon) as conn:
            allowed(conn, 'root as observer of a', ('observer',))


if os.getuid() != 0:
    bail_out('this test takes the part of several users: run it as root')
with Cluster() as cluster:
    without_sections(cluster)
    sections(cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
