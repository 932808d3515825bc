<?php

// Operations of `/payouts`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListPayoutsQuery from \Florin\Types
 * @phpstan-import-type NewAddress from \Florin\Types
 * @phpstan-import-type NewPayout from \Florin\Types
 * @phpstan-import-type Payout from \Florin\Types
 */
final class Payouts extends Resource
{
    /**
     * List payouts. Needs the scope `payouts:read`.
     *
     * @param ListPayoutsQuery $query
     * @return Pages<Payout>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/payouts'], $query);
    }

    /**
     * Create a payout. Needs the scope `payouts:request`.
     *
     * @param NewPayout $body
     * @return Payout
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/payouts'], body: $body, key: $idempotencyKey, own: 'reference', takesKey: true);
    }

    /**
     * Get a payout. Needs the scope `payouts:read`.
     *
     * @return Payout
     */
    public function get(string $payoutId): array
    {
        return $this->call('GET', ['/payouts/{}', $payoutId]);
    }

    /**
     * Set a payout's address. Needs the scope `payouts:request`.
     *
     * @param NewAddress $body
     * @return Payout
     */
    public function setAddress(string $payoutId, array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/payouts/{}/address', $payoutId], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Cancel a payout. Needs the scope `payouts:request`.
     *
     * @return Payout
     */
    public function cancel(string $payoutId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/payouts/{}/cancel', $payoutId], key: $idempotencyKey, takesKey: true);
    }
}
