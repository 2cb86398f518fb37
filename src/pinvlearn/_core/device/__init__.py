"""Arrays of torch, CuPy and other array-API libraries, with NumPy's manners.

The house speaks NumPy.  A `DeviceArray` holds an array of another library and answers NumPy's
functions and operators, through the protocols that NumPy has for this (``__array_ufunc__``,
``__array_function__``, ``like=``), by calls of the array API where the array lives.  So one body
serves all libraries, and code on NumPy's own arrays runs as if this room were not there.

Arrays of NumPy that meet a `DeviceArray` are moved to its device: gains, ridges and random numbers,
which are few.  Nothing moves the other way unless `to_host` is called.  With `arrays` and
`factoring` the only room that knows libraries apart.
"""

from pinvlearn._core.device import functions as functions  # gives `DeviceArray` its answers
from pinvlearn._core.device.array import DeviceArray as DeviceArray
from pinvlearn._core.device.array import device_name as device_name
from pinvlearn._core.device.array import home as home
from pinvlearn._core.device.array import is_device as is_device
from pinvlearn._core.device.array import to_host as to_host
from pinvlearn._core.device.homes import as_given as as_given
from pinvlearn._core.device.homes import fields_of as fields_of
from pinvlearn._core.device.homes import home_within as home_within
from pinvlearn._core.device.homes import moved_to as moved_to
from pinvlearn._core.device.homes import on_device as on_device
from pinvlearn._core.device.libraries import is_foreign as is_foreign
from pinvlearn._core.device.libraries import library_of as library_of
from pinvlearn._core.device.libraries import namespace as namespace
from pinvlearn._core.device.memory import check_room as check_room
from pinvlearn._core.device.memory import free_memory as free_memory
from pinvlearn._core.device.memory import memory_named as memory_named
from pinvlearn._core.device.memory import slow_double as slow_double
