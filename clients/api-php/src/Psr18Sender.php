<?php

declare(strict_types=1);

namespace Florin;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** Sends by a PSR-18 client of yours. It limits the time of a request itself, follows no redirect, and must repeat nothing by itself. */
final class Psr18Sender implements Sender
{
    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(#[\SensitiveParameter] Request $request): Reply
    {
        $sent = $this->requests->createRequest($request->method, $request->url);
        foreach ($request->headers as $name => $value) {
            $sent = $sent->withHeader($name, $value);
        }
        if ($request->body !== null) {
            $sent = $sent->withBody($this->streams->createStream($request->body));
        }
        try {
            $answer = $this->client->sendRequest($sent);
            $body = self::read($answer);
        } catch (ClientExceptionInterface | \RuntimeException $error) {
            // Neither its message nor itself: both may contain what was sent.
            throw new NoAnswerError('No complete answer: ' . $error::class . '.');
        }
        $headers = [];
        foreach ($answer->getHeaders() as $name => $values) {
            $headers[strtolower((string) $name)] = implode(', ', $values);
        }
        return new Reply($answer->getStatusCode(), $headers, $body);
    }

    /** @throws \RuntimeException for a body that is not whole, or too long */
    private static function read(ResponseInterface $answer): string
    {
        $stream = $answer->getBody();
        if ($stream->isSeekable()) {
            $stream->rewind();
        }
        $body = '';
        while (!$stream->eof() && strlen($body) <= self::LONGEST_ANSWER) {
            $chunk = $stream->read(65_536);
            if ($chunk === '' && !$stream->eof()) {
                // A stream whose time is over says this for ever.
                throw new \RuntimeException('not whole');
            }
            $body .= $chunk;
        }
        // What a client has unpacked has another length than it came with.
        $isAsSent = $answer->hasHeader('Content-Length') && !$answer->hasHeader('Content-Encoding');
        $isWhole = !$isAsSent || strlen($body) === (int) $answer->getHeaderLine('Content-Length');
        if (!$isWhole || strlen($body) > self::LONGEST_ANSWER) {
            throw new \RuntimeException('not whole');
        }
        return $body;
    }
}
