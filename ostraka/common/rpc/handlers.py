"""Wrapping of a call's handler by interceptors."""

from collections.abc import Callable
from typing import Any, TypeAlias

import grpc

Behaviour = Callable[[Any, grpc.ServicerContext], Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


def behaviour_of(handler: Handler) -> Behaviour:
    """Return the function with which a handler answers a request, or a stream of requests."""
    behaviours = (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream)
    return next(behaviour for behaviour in behaviours if behaviour is not None)


def maker_of(handler: Handler) -> "Callable[..., Handler]":
    """Return the gRPC factory that makes a handler of the same kind from another function."""
    if handler.request_streaming:
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler
        return grpc.stream_unary_rpc_method_handler
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler
    return grpc.unary_unary_rpc_method_handler
