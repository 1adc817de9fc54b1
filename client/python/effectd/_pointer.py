"""Puts a value where a JSON pointer (RFC 6901) says, in a copy. Pure."""
from __future__ import annotations

from typing import Any, List, Sequence


def put(document: Any, pointer: str, value: Any) -> Any:
    """A copy of the document with the value at the pointer, whatever stood there; objects that are
    missing on the way are made. Raises ValueError where there is no such place."""
    if not pointer.startswith('/'):
        raise ValueError('is no pointer into an object')
    tokens = [part.replace('~1', '/').replace('~0', '~') for part in pointer[1:].split('/')]
    return _put(document, tokens, value)


def _put(document: Any, tokens: Sequence[str], value: Any) -> Any:
    if not tokens:
        return value
    name, rest = tokens[0], tokens[1:]
    if isinstance(document, dict):
        return {**document, name: _put(document.get(name, {}), rest, value)}
    if isinstance(document, (list, tuple)):
        if not name.isascii() or not name.isdigit() or (name[0] == '0' and name != '0'):
            raise ValueError(f'"{name}" is no index of an array')
        if int(name) >= len(document):
            raise ValueError(f'the array has no element {name}')
        copied: List[Any] = list(document)
        copied[int(name)] = _put(copied[int(name)], rest, value)
        return copied
    raise ValueError(f'"{name}" is looked for in what is no object')
