from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Budget(_message.Message):
    __slots__ = ("party", "group", "adjacency", "epsilon", "delta", "order", "enforce", "epsilon_worst_case", "epsilon_reserved")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_WORST_CASE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_RESERVED_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    enforce: str
    epsilon_worst_case: float
    epsilon_reserved: float
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ..., enforce: _Optional[str] = ..., epsilon_worst_case: _Optional[float] = ..., epsilon_reserved: _Optional[float] = ...) -> None: ...

class ListBudgetsRequest(_message.Message):
    __slots__ = ("party",)
    PARTY_FIELD_NUMBER: _ClassVar[int]
    party: str
    def __init__(self, party: _Optional[str] = ...) -> None: ...

class ListBudgetsReply(_message.Message):
    __slots__ = ("budgets",)
    BUDGETS_FIELD_NUMBER: _ClassVar[int]
    budgets: _containers.RepeatedCompositeFieldContainer[Budget]
    def __init__(self, budgets: _Optional[_Iterable[_Union[Budget, _Mapping]]] = ...) -> None: ...

class SetBudgetRequest(_message.Message):
    __slots__ = ("party", "group", "adjacency", "epsilon", "delta", "order")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ADJACENCY_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float
    def __init__(self, party: _Optional[str] = ..., group: _Optional[str] = ..., adjacency: _Optional[str] = ..., epsilon: _Optional[float] = ..., delta: _Optional[float] = ..., order: _Optional[float] = ...) -> None: ...

class SetBudgetReply(_message.Message):
    __slots__ = ("budget",)
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    budget: Budget
    def __init__(self, budget: _Optional[_Union[Budget, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSessionsReply(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionSummary]
    def __init__(self, sessions: _Optional[_Iterable[_Union[SessionSummary, _Mapping]]] = ...) -> None: ...

class SessionSummary(_message.Message):
    __slots__ = ("session_id", "querier", "state", "queries", "asked", "answered", "opened_unix_s")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERIER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    OPENED_UNIX_S_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    querier: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int
    def __init__(self, session_id: _Optional[str] = ..., querier: _Optional[str] = ..., state: _Optional[str] = ..., queries: _Optional[int] = ..., asked: _Optional[int] = ..., answered: _Optional[int] = ..., opened_unix_s: _Optional[int] = ...) -> None: ...
