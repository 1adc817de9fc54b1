#!/usr/bin/python3
"""The dashboard of packaging/grafana: each of its expressions is one that Prometheus takes (by promtool, as a recording rule, with
Grafana's variables filled in), asks for metrics that a real scrape has, by labels that they have, and every metric is shown."""
import json
import os
import re

from harness import *
from prometheus import Page, get, port_of, promtool

DASHBOARD = os.path.join(SRC, 'packaging/grafana/effectd.json')
RULES = os.path.join(SRC, 'packaging/prometheus/effectd.rules.yml')
FILLED = {'$__rate_interval': '5m', '$__interval': '1m', '$job': '.*', '$instance': '.*', '$namespace': '.*', '$tool': '.*'}
TARGET_LABELS = {'job', 'instance'}  # what Prometheus itself adds to each series


def expressions(dashboard):
    """(panel, expression) of each target and each variable."""
    for panel in dashboard['panels']:
        for target in panel.get('targets', []):
            yield panel['title'], target['expr']


def filled(expr):
    for name, value in FILLED.items():
        expr = expr.replace(name, value)
    return expr


def selectors(expr):
    """(metric, {labels}) of each selector; what stands in by () and on () is about results."""
    for name, inside in re.findall(r'\b((?:effectd|process)_\w+)(?:\{([^}]*)\})?', expr):
        yield name, set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)', inside))


def page_of_everything(daemon):
    with daemon.connect() as conn:
        claim = conn.call('begin', tool='refund', args={'order': 1})
        conn.call('complete', effect=claim['effect'], token=claim['token'], result={})
    return Page(get(port_of(daemon), '/metrics')[2])


def is_provisionable(dashboard):
    ok('id' not in dashboard and dashboard['uid'] == 'effectd', 'it has a uid and no id: it can be provisioned')
    is_([v['name'] for v in dashboard['templating']['list']], ['datasource', 'job', 'instance', 'namespace', 'tool'], 'its variables')
    ids = [p['id'] for p in dashboard['panels']]
    is_(len(ids), len(set(ids)), 'each panel has an id of its own')
    sources = {json.dumps(p['datasource']) for p in dashboard['panels'] if p['type'] != 'row'}
    is_(sources, {'{"type": "prometheus", "uid": "${datasource}"}'}, 'all panels ask the data source of the variable')
    taken = [p['gridPos'] for p in dashboard['panels']]
    overlaps = [(a, b) for i, a in enumerate(taken) for b in taken[:i]
                if a['x'] < b['x'] + b['w'] and b['x'] < a['x'] + a['w'] and a['y'] < b['y'] + b['h'] and b['y'] < a['y'] + a['h']]
    is_(overlaps, [], 'no panel lies on another')
    ok(all(p['x'] + p['w'] <= 24 for p in taken), 'nor beyond the page')


def expressions_are_prometheus_own(dashboard):
    all_ = [(title, filled(expr)) for title, expr in expressions(dashboard)]
    left = [expr for _, expr in all_ if '$' in expr]
    is_(left, [], 'no variable is left that Grafana would not fill')
    path = os.path.join(folder(), 'rules.yml')
    rules = [{'record': f'panel:expression:n{n}', 'expr': expr} for n, (_, expr) in enumerate(all_)]
    with open(path, 'w', encoding='utf-8') as out:
        json.dump({'groups': [{'name': 'dashboard', 'rules': rules}]}, out)
    checked = promtool('check', 'rules', path)
    is_(checked.returncode, 0, f'promtool takes all {len(rules)} expressions: {checked.stderr.strip()}')
    like(checked.stdout, rf'SUCCESS: {len(rules)} rules found', 'each of them')


def metrics_are_real(page, dashboard):
    labels = {}
    for name, pairs in page.samples:
        labels.setdefault(name, set(TARGET_LABELS)).update(label for label, _ in pairs)
    declared = set(page.types)
    for where, texts in [('the dashboard', [e for _, e in expressions(dashboard)] +
                          [v['definition'] for v in dashboard['templating']['list'] if 'definition' in v]),
                         ('the alerts', re.findall(r'(?m)^ +(?:expr: (.*)|( {10}.*))$', open(RULES, encoding='utf-8').read()))]:
        asked = {(name, frozenset(wanted)) for text in texts for name, wanted in selectors(text if isinstance(text, str) else ''.join(text))
                 if name != 'process_'}
        absent = sorted({name for name, _ in asked if re.sub('_(bucket|sum|count)$', '', name) not in declared and name not in declared})
        is_(absent, [], f'each metric of {where} is in a scrape')
        wrong = sorted((name, sorted(wanted - labels[name])) for name, wanted in asked if name in labels and wanted - labels[name])
        is_(wrong, [], f'and has the labels by which {where} asks')
    shown = {re.sub('_(bucket|sum|count)$', '', name) for _, expr in expressions(dashboard) for name, _ in selectors(expr)}
    is_(declared - shown, set(), 'every metric is shown')


with open(DASHBOARD, encoding='utf-8') as source:
    dashboard = json.load(source)
is_provisionable(dashboard)
expressions_are_prometheus_own(dashboard)
with Cluster() as cluster, Daemon(cluster, {'metrics_listen': '127.0.0.1:0'}, {'name': 'refund', 'key': 'r:{/order}'}) as daemon:
    metrics_are_real(page_of_everything(daemon.ready()), dashboard)
done()
