"""Client of Florin's public API, as a merchant's server uses it."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

API_SECONDS = 15


class GatewayError(Exception):
    """Florin refused a request or did not answer; `code` is the API's error code, empty without an answer."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class GatewayApi:
    """One key at one gateway."""

    base_url: str
    key: str

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post to a path below /api/v1; returns the answer's object. Raises `GatewayError`."""
        status, text = self._exchange(f"/api/v1{path}", body)
        answer = _object(text)
        if status in {200, 201}:
            return answer
        error = answer.get("error", {})
        message = f"Florin answered {status}: {error.get('message') or text[:500]}"
        raise GatewayError(message, code=error.get("code") or "")

    def _exchange(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        headers = {"Content-Type": "application/json"}
        headers["Authorization"] = f"Bearer {self.key}"
        gateway = urlsplit(self.base_url).netloc
        connection = HTTPConnection(gateway, timeout=API_SECONDS)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, HTTPException) as error:
            message = f"Florin does not answer: {error}"
            raise GatewayError(message) from error
        finally:
            connection.close()


def _object(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
