<?php

declare(strict_types=1);

namespace Florin;

/** What is sent. */
final class Request
{
    /** @param array<string, string> $headers */
    public function __construct(
        public readonly string $method,
        public readonly string $url,
        public readonly array $headers,
        public readonly ?string $body,
        public readonly bool $repeat,
    ) {
    }

    /** @return list<string> its headers as lines; without a body they say so */
    public function lines(): array
    {
        $lines = [];
        foreach ($this->headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        return $this->body === null && $this->method !== 'GET' ? [...$lines, 'Content-Length: 0'] : $lines;
    }
}
