"""Commands made from requests: the options that stand at a request's fields, and the request made of what was typed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import typer

from slotmark.options import Option, option_of

Request = TypeVar("Request")

_UNSET = msgspec.UNSET
"""Stands for no value, where None may be one."""


class Asked(Generic[Request]):
    """A request that isn't made yet: a command takes one where what was typed doesn't always make a request.

    None of its options is then required.

    Attributes:
        values: The values by field, of what was typed and of defaults.
    """

    def __init__(self, kind: type[Request], values: Mapping[str, Any]) -> None:
        """Keeps what was typed."""
        self._kind, self.values = kind, values

    def __call__(self, **instead: object) -> Request:
        """Makes the request; ``instead`` are values of fields, in the place of what was typed."""
        return self._kind(**{**self.values, **instead})


class _Field(msgspec.Struct, frozen=True):
    """A field or parameter that is an option.

    Attributes:
        name: The field's, which is the command's parameter.
        kind: Its type.
        option: What its annotation has.
        default: The field's own; UNSET for none.
        path: The names of the fields from the parameter of the command to it; empty for a parameter.
    """

    name: str
    kind: Any
    option: Option
    default: Any
    path: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The flag in messages."""
        return self.option.flag(self.name)

    def parameter(self, *, optional: bool) -> Parameter:
        """The parameter of which typer makes an option."""
        option, kind, default = self.option, self.kind, self.default
        named: dict[str, Any] = {
            "metavar": option.metavar,
            "help": option.help,
            "min": option.least,
            "max": option.most,
        }
        if option.parse is not None:
            kind = option.typed
            default = option.default if option.default is not None else self._none
            if option.shown is not None:
                default = option.shown(self.default)
        elif get_origin(kind) is Sequence:
            kind, default = list[get_args(kind)[0]], self._none
        elif option.least is not None and isinstance(default, int) and default < option.least:
            default = None
        if default is _UNSET:
            default = None if optional else Parameter.empty
        if default is None:
            kind |= None
        info = typer.Argument(**named) if option.argument else typer.Option(*(option.flags or (self.flag,)), **named)
        return Parameter(
            self.name,
            Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, info],
        )

    @property
    def _none(self) -> Any:
        """The value where nothing was typed: None, or UNSET where the field must have one."""
        return _UNSET if self.default is _UNSET else None

    def value(self, typed: Any) -> Any:
        """The field's value; UNSET where its own default holds."""
        if typed is None:
            return _UNSET
        return typed if self.option.parse is None else self.option.parse(self.flag, typed)


def from_requests(function: Callable[..., None]) -> Callable[..., None]:
    """Makes the function of a command from one that takes requests: each request's options stand in its place.

    A parameter is a request (a struct with options), what was :class:`Asked` of one, an option by itself (annotated with :class:`Option`), or
    a parameter of typer's own.
    """
    hints = get_type_hints(function, include_extras=True)
    listed: list[Parameter] = []
    requests: dict[str, type[msgspec.Struct]] = {}
    asked: set[str] = set()
    alone: dict[str, _Field] = {}

    for name, parameter in signature(function).parameters.items():
        kind = hints[name]
        if get_origin(kind) is Asked:
            asked.add(name)
            (kind,) = get_args(kind)
        if _is_request(kind):
            requests[name] = kind
            for field in _fields(kind, (name,)):
                _list(listed, field.parameter(optional=name in asked), field.option.after)
        elif option := option_of(kind):
            default = _UNSET if parameter.default is Parameter.empty else parameter.default
            alone[name] = _Field(name, get_args(kind)[0], option, default)
            _list(listed, alone[name].parameter(optional=False), option.after)
        else:
            _list(listed, parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(function)
    def command(**typed: Any) -> None:
        for name, kind in requests.items():
            values = {field.path: field.value(typed.pop(field.name)) for field in _fields(kind, (name,))}
            request = Asked(kind, _nested(kind, (name,), values))
            typed[name] = request if name in asked else request()
        for name, field in alone.items():
            value = field.value(typed[name])
            typed[name] = field.default if value is _UNSET else value
        function(**typed)

    command.__dict__["__signature__"] = Signature(listed)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return command


def _list(listed: list[Parameter], one: Parameter, after: str = "") -> None:
    """Lists a parameter behind another, or as the last."""
    names = [parameter.name for parameter in listed]
    listed.insert(names.index(after) + 1 if after else len(listed), one)


def _fields(kind: type[msgspec.Struct], path: tuple[str, ...]) -> Iterator[_Field]:
    """The options of a request in their order; those of a field that is itself made of options stand in its place."""
    plain = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        if option := option_of(field.type):
            default = _UNSET if field.default is msgspec.NODEFAULT else field.default
            if field.default_factory is not msgspec.NODEFAULT:
                default = None
            yield _Field(field.name, plain[field.name], option, default, (*path, field.name))
        elif _is_request(field.type):
            yield from _fields(field.type, (*path, field.name))


def _nested(kind: type[msgspec.Struct], path: tuple[str, ...], values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """The values of a request by field, those of its own fields' options among them."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        here = (*path, field.name)
        if _is_request(field.type):
            found[field.name] = field.type(**_nested(field.type, here, values))
        elif values.get(here, _UNSET) is not _UNSET:
            found[field.name] = values[here]
    return found


def _is_request(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct) and any(_fields(kind, ()))
