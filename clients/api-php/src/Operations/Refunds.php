<?php

// Operations of `/refunds`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListRefundsQuery from \Florin\Types
 * @phpstan-import-type NewAddress from \Florin\Types
 * @phpstan-import-type NewRefund from \Florin\Types
 * @phpstan-import-type Payout from \Florin\Types
 */
final class Refunds extends Resource
{
    /**
     * List refunds. Needs the scope `payouts:read`.
     *
     * @param ListRefundsQuery $query
     * @return Pages<Payout>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/refunds'], $query);
    }

    /**
     * Create a refund. Needs the scope `payouts:request`.
     *
     * @param NewRefund $body
     * @return Payout
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/refunds'], body: $body, key: $idempotencyKey, own: 'reference', takesKey: true);
    }

    /**
     * Get a refund. Needs the scope `payouts:read`.
     *
     * @return Payout
     */
    public function get(string $payoutId): array
    {
        return $this->call('GET', ['/refunds/{}', $payoutId]);
    }

    /**
     * Set a refund's address. Needs the scope `payouts:request`.
     *
     * @param NewAddress $body
     * @return Payout
     */
    public function setAddress(string $payoutId, array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/refunds/{}/address', $payoutId], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Cancel a refund. Needs the scope `payouts:request`.
     *
     * @return Payout
     */
    public function cancel(string $payoutId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/refunds/{}/cancel', $payoutId], key: $idempotencyKey, takesKey: true);
    }
}
