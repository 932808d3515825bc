"""A shop of the demo, and somebody who asks it."""

import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlencode

from demo.settings_file import Credentials, DemoSettings
from demo.shop.server import shop_server

CREDENTIALS = Credentials(
    owner_email="owner@demo.example",
    owner_password="password",
    live_key="sk_live_example",
    test_key="sk_test_example",
    webhook_secret="whsec_example",
)


class Client:
    """Speaks HTTP to a shop."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read().decode()
        connection.close()
        return answer

    def follow(self, path: str, **form: str) -> tuple[str, int]:
        """Submit a form; return where it leads and the status."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        headers = {"Origin": f"http://{self.host}"}
        connection.request("POST", path, urlencode(form).encode(), headers)
        response = connection.getresponse()
        answer = response.headers["Location"], response.status
        connection.close()
        return answer

    def submit(self, path: str, **form: str) -> tuple[int, str]:
        origin = f"http://{self.host}"
        return self.ask("POST", path, urlencode(form).encode(), Origin=origin)


def serve(chains: dict[str, dict[str, object]]) -> Iterator[Client]:
    with shop_server(0, settings("", chains)) as server:
        client = Client(server.server_address[1])
        shop = server.RequestHandlerClass.shop  # type: ignore[attr-defined]
        shop.settings = settings(f"http://{client.host}", chains)
        # Or its end is noticed half a second later, after each test.
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield client
        server.shutdown()
        thread.join()


def settings(shop_url: str, chains: dict[str, dict[str, object]]) -> DemoSettings:
    # Nobody listens on port 9 of loopback.
    return DemoSettings("http://127.0.0.1:9", shop_url, CREDENTIALS, chains)
