<?php

declare(strict_types=1);

namespace Florin;

/** A whole response. Header names are in lower case. */
final class Reply
{
    /** @param array<string, string> $headers */
    public function __construct(public readonly int $status, public readonly array $headers, public readonly string $body)
    {
    }
}
