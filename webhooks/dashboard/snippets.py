"""Signature verification examples in three languages, without any library. Tests run the runnable ones."""

from typing import Final, NamedTuple


class Snippet(NamedTuple):
    """A language and its code."""

    language: str
    code: str


_PYTHON: Final = '''\
import hashlib, hmac, time


def is_genuine(header: str, body: bytes, secret: str) -> bool:
    """`header` is X-Service-Signature, `body` the raw bytes, `secret` the whsec_ string."""
    fields = [field.partition("=")[::2] for field in header.split(",")]
    sent_at = dict(fields).get("t", "")
    signed = sent_at.encode() + b"." + body
    wanted = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    matches = any(
        name == "v1" and hmac.compare_digest(value.encode(), wanted.encode())
        for name, value in fields
    )
    return bool(secret) and matches and abs(time.time() - int(sent_at)) <= 300
'''

_NODE: Final = """\
const crypto = require("node:crypto");

// header is X-Service-Signature, body the raw Buffer, secret the whsec_ string.
function isGenuine(header, body, secret) {
  const fields = header.split(",").map((field) => field.split("="));
  const sentAt = fields.find(([name]) => name === "t")?.[1] ?? "";
  const wanted = crypto.createHmac("sha256", secret).update(`${sentAt}.`).update(body).digest();
  const matches = fields.some(([name, value]) => {
    const given = Buffer.from(name === "v1" ? (value ?? "") : "", "hex");
    return given.length === wanted.length && crypto.timingSafeEqual(given, wanted);
  });
  return secret !== "" && matches && Math.abs(Date.now() / 1000 - Number(sentAt)) <= 300;
}
"""

_PHP: Final = """\
// $header is X-Service-Signature, $body file_get_contents('php://input'), $secret the whsec_ string.
function is_genuine(string $header, string $body, string $secret): bool
{
    $sentAt = 0;
    $given = [];
    foreach (explode(',', $header) as $field) {
        [$name, $value] = explode('=', $field, 2) + [1 => ''];
        if ($name === 't') {
            $sentAt = $value;
        } elseif ($name === 'v1') {
            $given[] = $value;
        }
    }
    $wanted = hash_hmac('sha256', $sentAt . '.' . $body, $secret);
    $matches = array_filter($given, fn ($value) => hash_equals($wanted, $value));
    return $secret !== '' && $matches !== [] && abs(time() - (int) $sentAt) <= 300;
}
"""

SNIPPETS: Final = (Snippet("Python", _PYTHON), Snippet("Node.js", _NODE), Snippet("PHP", _PHP))
