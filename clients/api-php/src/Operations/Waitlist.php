<?php

// Operations of `/waitlist`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type FiatInterest from \Florin\Types
 * @phpstan-import-type NewFiatInterest from \Florin\Types
 */
final class Waitlist extends Resource
{
    /**
     * Join the waitlist for card payments.
     *
     * @param NewFiatInterest $body
     * @return FiatInterest
     */
    public function joinFiat(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/waitlist/fiat'], body: $body, key: $idempotencyKey, takesKey: true);
    }
}
