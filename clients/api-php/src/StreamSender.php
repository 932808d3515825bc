<?php

declare(strict_types=1);

namespace Florin;

/** Sends by PHP's own streams: no extension but openssl is needed, and `allow_url_fopen`. One connection for each request. */
final class StreamSender implements Sender
{
    public function __construct(private readonly float $seconds)
    {
    }

    public function send(#[\SensitiveParameter] Request $request): Reply
    {
        $deadline = microtime(true) + $this->seconds;
        $context = stream_context_create(['http' => [
            'method' => $request->method,
            'header' => ['Connection: close', ...$request->lines()],
            'content' => $request->body ?? '',
            'timeout' => $this->seconds,
            'follow_location' => 0,
            'max_redirects' => 1,
            'ignore_errors' => true,
            'protocol_version' => '1.1',
        ]]);
        $stream = @fopen($request->url, 'rb', false, $context);
        if ($stream === false) {
            throw new NoAnswerError('No answer.');
        }
        try {
            $told = stream_get_meta_data($stream)['wrapper_data'] ?? [];
            [$status, $headers] = self::parsed(is_array($told) ? $told : []);
            $body = $this->read($stream, $deadline);
        } finally {
            fclose($stream);
        }
        if (isset($headers['content-length']) && strlen($body) !== (int) $headers['content-length']) {
            throw new NoAnswerError('Half an answer.');
        }
        return new Reply($status, $headers, $body);
    }

    /**
     * Read the whole body within the time limit, also from a server that sends it slowly.
     *
     * @param resource $stream
     */
    private function read($stream, float $deadline): string
    {
        $body = '';
        while (!feof($stream)) {
            $left = $deadline - microtime(true);
            if ($left <= 0 || strlen($body) > self::LONGEST_ANSWER) {
                throw new NoAnswerError('The answer takes too long.');
            }
            stream_set_timeout($stream, (int) $left, (int) (fmod($left, 1) * 1_000_000));
            $chunk = fread($stream, 65_536);
            if ($chunk === false || (stream_get_meta_data($stream)['timed_out'] ?? false)) {
                throw new NoAnswerError('The answer takes too long.');
            }
            $body .= $chunk;
        }
        return $body;
    }

    /**
     * @param array<mixed> $lines
     * @return array{int, array<string, string>}
     */
    private static function parsed(array $lines): array
    {
        $first = is_string($lines[0] ?? null) ? $lines[0] : '';
        if (preg_match('#^HTTP/\S+ ([0-9]{3})#', $first, $found) !== 1) {
            throw new NoAnswerError('No answer of HTTP.');
        }
        $headers = [];
        foreach (array_slice($lines, 1) as $line) {
            [$name, $value] = explode(':', (string) $line, 2) + [1 => ''];
            $headers[strtolower($name)] = trim($value);
        }
        return [(int) $found[1], $headers];
    }
}
