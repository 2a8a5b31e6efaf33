from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor
MOST_FIELD_NUMBER: _ClassVar[int]
most: _descriptor.FieldDescriptor
MOST_KIB_FIELD_NUMBER: _ClassVar[int]
most_kib: _descriptor.FieldDescriptor
