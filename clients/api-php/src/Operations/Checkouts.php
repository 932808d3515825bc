<?php

// Operations of `/checkouts`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type Advance from \Florin\Types
 * @phpstan-import-type AuthorizedPayment from \Florin\Types
 * @phpstan-import-type ChainOption from \Florin\Types
 * @phpstan-import-type Checkout from \Florin\Types
 * @phpstan-import-type CreatedCheckout from \Florin\Types
 * @phpstan-import-type ListCheckoutsQuery from \Florin\Types
 * @phpstan-import-type NewCheckout from \Florin\Types
 * @phpstan-import-type OptionChoice from \Florin\Types
 * @phpstan-import-type PaymentAuthorization from \Florin\Types
 */
final class Checkouts extends Resource
{
    /**
     * List checkouts. Needs the scope `checkouts:read`.
     *
     * @param ListCheckoutsQuery $query
     * @return Pages<Checkout>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/checkouts'], $query);
    }

    /**
     * Create a checkout. Needs the scope `checkouts:write`.
     *
     * @param NewCheckout $body
     * @return CreatedCheckout
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/checkouts'], body: $body, key: $idempotencyKey, own: 'order_ref', takesKey: true);
    }

    /**
     * Get a checkout. Needs the scope `checkouts:read`.
     *
     * @return Checkout
     */
    public function get(string $checkoutId): array
    {
        return $this->call('GET', ['/checkouts/{}', $checkoutId]);
    }

    /**
     * Pay without a network fee. Needs the scope `checkouts:write`.
     *
     * @param PaymentAuthorization $body
     * @return AuthorizedPayment
     */
    public function authorizePayment(string $checkoutId, array $body = [], ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/checkouts/{}/authorization', $checkoutId], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Cancel an unpaid checkout. Needs the scope `checkouts:write`.
     *
     * @return Checkout
     */
    public function cancel(string $checkoutId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/checkouts/{}/cancel', $checkoutId], key: $idempotencyKey, takesKey: true);
    }

    /**
     * Choose a chain and token. Needs the scope `checkouts:write`.
     *
     * @param OptionChoice $body
     * @return ChainOption
     */
    public function chooseOption(string $checkoutId, array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/checkouts/{}/options', $checkoutId], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /** Get a signed receipt. Needs the scope `checkouts:read`. */
    public function getReceipt(string $checkoutId): string
    {
        return $this->call('GET', ['/checkouts/{}/receipt', $checkoutId], raw: true);
    }

    /**
     * Release escrow. Needs the scope `escrow:release`.
     *
     * @return Checkout
     */
    public function release(string $checkoutId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/checkouts/{}/release', $checkoutId], key: $idempotencyKey, takesKey: true);
    }

    /**
     * Advance a test checkout. Needs the scope `checkouts:write`.
     *
     * @param Advance $body
     * @return Checkout
     */
    public function advance(string $checkoutId, array $body = [], ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/test/checkouts/{}/advance', $checkoutId], body: $body, key: $idempotencyKey, takesKey: true);
    }
}
