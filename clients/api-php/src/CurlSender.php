<?php

declare(strict_types=1);

namespace Florin;

/**
 * Sends by the extension curl, over connections that are kept. `$seconds` limits each request.
 *
 * Through a `$proxy` a tunnel is made, so that it sees the server's name and nothing else.
 */
final class CurlSender implements Sender
{
    private readonly \CurlHandle $handle;

    private readonly bool $isElsewhere;

    /** @throws \InvalidArgumentException for a proxy that is none */
    public function __construct(private readonly float $seconds, #[\SensitiveParameter] private readonly ?string $proxy = null)
    {
        $parts = $proxy === null ? null : parse_url($proxy);
        $isBare = is_array($parts) && in_array($parts['path'] ?? '', ['', '/'], true) && !isset($parts['query']) && !isset($parts['fragment']);
        if ($proxy !== null && (!$isBare || ($parts['scheme'] ?? '') !== 'http' || !isset($parts['host'], $parts['port']))) {
            // Without the address, which may contain a password.
            throw new \InvalidArgumentException('The proxy is an address such as http://proxy.example:3128.');
        }
        $this->isElsewhere = $proxy !== null && !Host::isLoopback($parts['host']);
        $this->handle = curl_init();
    }

    /** @throws \InvalidArgumentException for plain http through a proxy on another machine, which would see the key */
    public function send(#[\SensitiveParameter] Request $request): Reply
    {
        if ($this->isElsewhere && strncasecmp($request->url, 'https:', 6) !== 0) {
            throw new \InvalidArgumentException('The url is plain http: the key would travel to the proxy in the open.');
        }
        $headers = [];
        $body = '';
        // It keeps the connections, and forgets everything else of the last request.
        curl_reset($this->handle);
        curl_setopt_array($this->handle, $this->options($request) + [
            CURLOPT_HEADERFUNCTION => static function ($_handle, string $line) use (&$headers): int {
                if (str_starts_with($line, 'HTTP/')) {
                    // A second head, after one that only says to go on.
                    $headers = [];
                } elseif (str_contains($line, ':')) {
                    [$name, $value] = explode(':', $line, 2);
                    $headers[strtolower($name)] = trim($value);
                }
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($_handle, string $chunk) use (&$body): int {
                $body .= $chunk;
                // Any other number than the chunk's length ends the request.
                return strlen($body) > self::LONGEST_ANSWER ? 0 : strlen($chunk);
            },
        ]);
        $isWhole = curl_exec($this->handle);
        if ($isWhole === false) {
            // Without curl's own message, which may contain what was sent.
            throw new NoAnswerError('No complete answer: ' . curl_strerror(curl_errno($this->handle)) . '.');
        }
        return new Reply(curl_getinfo($this->handle, CURLINFO_RESPONSE_CODE), $headers, $body);
    }

    /**
     * What var_dump shows: not the proxy's password.
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        return ['seconds' => $this->seconds];
    }

    /** @return array<int, mixed> */
    private function options(#[\SensitiveParameter] Request $request): array
    {
        $content = $request->body === null ? [] : [CURLOPT_POSTFIELDS => $request->body];
        return $content + [
            CURLOPT_URL => $request->url,
            CURLOPT_CUSTOMREQUEST => $request->method,
            // Without Expect curl asks first whether it may send a large body.
            CURLOPT_HTTPHEADER => ['Expect:', ...$request->lines()],
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_TIMEOUT_MS => max(1, (int) ($this->seconds * 1_000)),
            CURLOPT_NOSIGNAL => true,
            // The server may close a kept connection while a request is on its way, and curl would send it again: not what must not be.
            CURLOPT_FRESH_CONNECT => !$request->repeat,
            CURLOPT_FORBID_REUSE => !$request->repeat,
            // Empty: no proxy, and no host without it, whatever the environment says.
            CURLOPT_PROXY => $this->proxy ?? '',
            CURLOPT_NOPROXY => '',
            CURLOPT_HTTPPROXYTUNNEL => $this->proxy !== null,
            CURLOPT_SUPPRESS_CONNECT_HEADERS => true,
            // As it is: its signs are escaped already.
            CURLOPT_PATH_AS_IS => true,
        ];
    }
}
