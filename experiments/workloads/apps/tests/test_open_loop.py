# SPDX-License-Identifier: GPL-2.0-only
"""A server that answers otherwise than it must."""

import socket
import time

import pytest

from experiments.workloads.apps import open_loop


@pytest.mark.parametrize("wrong", [b"ERROR\r\n", b"VALUE k 0 3\r\nabX\r\nEND\r\n"])
def test_a_wrong_answer_is_told_at_once(wrong: bytes) -> None:
    """Also one that is shorter than the right one, whose rest would be waited for."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = open_loop.Connection(server.getsockname()[1])
        ours, _ = server.accept()
        with ours, connection.socket:
            connection.queue_request(0.0, open_loop.Memcached.build_get(b"k", b"abc"))
            ours.sendall(wrong)
            connection.socket.setblocking(True)  # until it has come
            with pytest.raises(SystemExit, match="open_loop: wrong answer"):
                connection.take_answers(time.monotonic(), [])
