"""JSON texts as they go over the wire and come back.

Promise: what effectd may send is always understood: results of any depth, numbers of any length and
odd escapes never make an answer unreadable; at worst its `result` alone cannot be decoded, and its
bytes are at hand. Pure.
"""
from __future__ import annotations

import decimal
import hashlib
import json
import re
from typing import Any, Callable, Dict, Optional, Tuple

_SEPARATORS = (',', ':')
_utf8 = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=_SEPARATORS).encode
_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=_SEPARATORS).encode

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_SCALAR = re.compile(rb'[^\s,\]}]+')
_SPACE = re.compile(rb'[ \t\r\n]*')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+|"', re.S)

#: What encoding a value that is no JSON raises.
NO_JSON = (TypeError, ValueError, RecursionError, OverflowError)


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8, without a line end. Raises one of NO_JSON."""
    try:
        return _utf8(value).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return _ascii(value).encode()


def _integer(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts: exact all the same
        return decimal.Decimal(digits)


_decoder = json.JSONDecoder(parse_int=_integer)


def decode(text: bytes) -> Any:
    """Raises ValueError or RecursionError."""
    return _decoder.decode(text.decode())


def omitted(text: bytes) -> Dict[str, Any]:
    """What is recorded instead of a text that is too long, or no JSON: size and SHA-256."""
    return {'bytes': len(text), 'sha256': hashlib.sha256(text).hexdigest()}


def text_of(value: Any) -> bytes:
    """The text of a value that is no JSON."""
    try:
        return repr(value).encode('utf-8', 'backslashreplace')
    except Exception:  # pylint: disable=broad-except  # its repr is not ours to trust
        return f'<{type(value).__qualname__}>'.encode('utf-8', 'backslashreplace')


def recordable(
    value: Any, encoder: Optional[Callable[[Any], Any]]
) -> Tuple[Optional[bytes], Dict[str, Any]]:
    """(JSON, {}) of a result, or (None, omitted) of one that is no JSON. Never raises: a result
    must not be lost."""
    try:
        return encode(value if encoder is None else encoder(value)), {}
    except Exception:  # pylint: disable=broad-except  # NO_JSON, or the caller's encoder raised
        return None, omitted(text_of(value))


def _skip(text: bytes, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value_end(text: bytes, at: int) -> int:
    """Where the value that starts at `at` ends, however deep it is."""
    first = text[at : at + 1]
    if first not in (b'{', b'['):
        found = (_STRING if first == b'"' else _SCALAR).match(text, at)
        if not found:
            raise ValueError('no value')
        return found.end()
    depth = 0
    for token in _TOKEN.finditer(text, at):
        kind, n = text[token.start()], token.end() - token.start()
        if kind in b'{[':
            depth += n
        elif kind in b'"' and n == 1:
            raise ValueError('no end of a string')
        elif kind in b'}]':
            if depth <= n:
                return token.start() + depth
            depth -= n
    raise ValueError('no end of a value')


def members(text: bytes, start: int = 0) -> Dict[str, Tuple[int, int]]:
    """Where the members of the object at `start` stand: name -> (start, end) of the value. Raises
    ValueError."""
    found: Dict[str, Tuple[int, int]] = {}
    at = _skip(text, start)
    if text[at : at + 1] != b'{':
        raise ValueError('no object')
    at = _skip(text, at + 1)
    while text[at : at + 1] != b'}':
        name = _STRING.match(text, at)
        if not name:
            raise ValueError('no name of a member')
        at = _skip(text, name.end())
        if text[at : at + 1] != b':':
            raise ValueError('no value of a member')
        at = _skip(text, at + 1)
        end = _value_end(text, at)
        found[str(decode(name.group()))] = (at, end)
        at = _skip(text, end)
        if text[at : at + 1] == b',':
            at = _skip(text, at + 1)
        elif text[at : at + 1] != b'}':
            raise ValueError('no end of an object')
    if start == 0 and text[at + 1 :].strip():
        raise ValueError('more than an object')
    return found


class Message:
    """A line of the daemon that is an answer: `id`, and either `result` or `error`."""

    __slots__ = ('line', 'id', 'result', 'error', 'undecoded')

    def __init__(
        self,
        line: bytes,
        id_: Any,
        result: Optional[Dict[str, Any]],
        error: Optional[Dict[str, Any]],
        undecoded: bool = False,
    ) -> None:
        self.line, self.id, self.result, self.error = line, id_, result, error
        self.undecoded = (
            undecoded  # there is a `result` within the result, but it could not be decoded
        )

    @property
    def error_name(self) -> Optional[str]:
        data = self.error.get('data') if self.error is not None else None
        name = data.get('name') if isinstance(data, dict) else None
        return name if isinstance(name, str) else None

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds, where the daemon said so."""
        data = self.error.get('data') if self.error is not None else None
        told = data.get('retry_after_ms') if isinstance(data, dict) else None
        return told / 1000 if isinstance(told, (int, float)) and told > 0 else None

    def raw(self) -> Optional[bytes]:
        """The bytes of the recorded result, as they came."""
        start, _ = members(self.line)['result']
        span = members(self.line, start).get('result')
        return self.line[span[0] : span[1]] if span else None


_NO_ANSWER = {'message': 'the answer is no object', 'data': {'name': 'strange_answer'}}


def parse(line: bytes) -> Optional[Message]:
    """None if the line is no answer."""
    undecoded = False
    try:
        answer = decode(line)
    except ValueError:
        return None
    except RecursionError:  # only a recorded result may be so deep; all around it is to be right
        try:
            answer, undecoded = _parse_around(line)
        except (ValueError, RecursionError):
            return None
    if not isinstance(answer, dict) or 'id' not in answer:
        return None
    result, error = answer.get('result'), answer.get('error')
    if 'error' in answer:  # whatever stands beside it
        error = error if isinstance(error, dict) else _NO_ANSWER
        return Message(line, answer['id'], None, error)
    if not isinstance(result, dict):
        return Message(line, answer['id'], None, _NO_ANSWER)
    return Message(line, answer['id'], result, None, undecoded)


def _parse_around(line: bytes) -> Tuple[Dict[str, Any], bool]:
    """The answer without the recorded result that could not be decoded."""
    outer = members(line)
    answer = {
        name: decode(line[start:end]) for name, (start, end) in outer.items() if name != 'result'
    }
    if 'result' not in outer:
        return answer, False
    inner = members(line, outer['result'][0])
    answer['result'] = {
        name: decode(line[start:end]) for name, (start, end) in inner.items() if name != 'result'
    }
    return answer, 'result' in inner
