"""The wire's methods as steps: params by their names in protocol.md, results as they come."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from . import _grant, _json, _steps, context, errors
from ._grant import Call, Options
from ._steps import Steps

DERIVED_BY = ('run', 'step', 'turn')


def _with_place(
    options: Options, params: Dict[str, Any], names: Any = DERIVED_BY
) -> Dict[str, Any]:
    """What the ledger and the context say already; None is absent."""
    known: Dict[str, Any] = {
        name: value for name, value in context.current().items() if name in names
    }
    if options.namespace is not None:
        known['namespace'] = options.namespace
    return {name: value for name, value in {**known, **params}.items() if value is not None}


def begin(options: Options, tool: str, params: Dict[str, Any]) -> Steps[Dict[str, Any]]:
    params = _with_place(
        options, {'tool': tool, 'owner': options.owner, **params}, (*DERIVED_BY, 'call')
    )
    params.setdefault('request', _steps.make_request_id())
    request = _grant.make_request('begin', params, tool)
    answer = yield from _steps.plain(request, options.begin_timeout + wait_of(params))
    return answer.result


def wait_of(params: Mapping[str, Any]) -> float:
    wait_ms = params.get('wait_ms', 0)
    return wait_ms / 1000 if isinstance(wait_ms, (int, float)) and wait_ms > 0 else 0.0


def key(options: Options, tool: str, params: Dict[str, Any]) -> Steps[Dict[str, Any]]:
    params = _with_place(options, {'tool': tool, **params})
    request = _grant.make_request('key', params, tool)
    answer = yield from _steps.plain(request, options.begin_timeout)
    return answer.result


def get(options: Options, effect: Optional[str], params: Dict[str, Any]) -> Steps[Dict[str, Any]]:
    if effect is not None:
        asked = {'effect': effect, **{n: v for n, v in params.items() if v is not None}}
    else:
        asked = _with_place(options, params, () if params.get('key') is not None else DERIVED_BY)
    request = _grant.make_request('get', asked, str(asked.get('tool')))
    answer = yield from _steps.plain(request, options.begin_timeout)
    return answer.result


def list_(options: Options, filters: Dict[str, Any]) -> Steps[Dict[str, Any]]:
    request = _steps.Request('list', _with_place(options, filters, ()))
    answer = yield from _steps.plain(request, options.begin_timeout)
    return answer.result


def call(
    options: Options, method: str, params: Mapping[str, Any], timeout: Optional[float]
) -> Steps[Dict[str, Any]]:
    params = dict(params)
    if method in ('begin', 'execute'):  # so that asking again cannot claim twice
        params.setdefault('request', _steps.make_request_id())
    if timeout is None:
        timeout = options.begin_timeout + wait_of(params)
    answer = yield from _steps.plain(_steps.Request(method, params), timeout)
    return answer.result


def complete(
    options: Options, effect: str, token: str, result: Any, outcome: str
) -> Steps[Dict[str, Any]]:
    """Raises NotRecorded or Conflict, with the result."""
    text, omitted = _json.recordable(result, options.encode)
    try:
        answer = yield from _steps.complete(
            {'effect': effect, 'token': token},
            outcome,
            text,
            omitted,
            options.complete_timeout,
            options.max_line,
        )
    except errors.NotRun as error:
        raise _grant.not_recorded({'effect': effect}, None, result, error) from None
    return answer.result


def hold(
    options: Options, method: str, effect: str, token: str, params: Dict[str, Any]
) -> Steps[Dict[str, Any]]:
    """release, unknown, extend."""
    if params.get('reason') is not None:
        params['reason'] = _steps.reason_of(params['reason'])
    told = {'effect': effect, 'token': token, **{n: v for n, v in params.items() if v is not None}}
    answer = yield from _steps.plain(_steps.Request(method, told), options.report_timeout)
    return answer.result


def execute(
    options: Options,
    tool: str,
    key_: Optional[str],
    args: Optional[Mapping[str, Any]],
    again: Optional[str],
) -> Steps[_grant.Outcome[Any]]:
    asked = Call(tool, options, key=key_, args=args, again=again, **context.current())
    answer = yield from asked.begin('execute')
    found = _grant.understand(asked, answer)
    if not isinstance(found, _grant.Outcome):
        raise errors.Strange(
            f'{errors.NOT_CALLED}: effectd decided {answer.result.get("decision")!r} about a '
            'tool that is SQL.'
        )
    return found
