<?php

// Operations of `/x402`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListPaymentsX402Query from \Florin\Types
 * @phpstan-import-type OfferedResource from \Florin\Types
 * @phpstan-import-type SettleBody from \Florin\Types
 * @phpstan-import-type Settled from \Florin\Types
 * @phpstan-import-type SettlementList from \Florin\Types
 * @phpstan-import-type SignedOffers from \Florin\Types
 * @phpstan-import-type Supported from \Florin\Types
 * @phpstan-import-type VerifyBody from \Florin\Types
 * @phpstan-import-type VerifyResult from \Florin\Types
 * @phpstan-import-type X402Config from \Florin\Types
 * @phpstan-import-type X402Payment from \Florin\Types
 */
final class X402 extends Resource
{
    /**
     * Get the x402 configuration. Needs the scope `x402:verify`.
     *
     * @return X402Config
     */
    public function getConfig(): array
    {
        return $this->call('GET', ['/x402/config']);
    }

    /**
     * Sign x402 offers. Needs the scope `x402:verify`.
     *
     * @param OfferedResource $body
     * @return SignedOffers
     */
    public function signOffers(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/x402/offers'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * List x402 payments. Needs the scope `x402:read`.
     *
     * @param ListPaymentsX402Query $query
     * @return Pages<X402Payment>
     */
    public function listPayments(array $query = []): Pages
    {
        return $this->pages(['/x402/payments'], $query);
    }

    /**
     * Settle an x402 payment, or send on what was collected. Needs the scope `x402:settle`.
     *
     * @param SettleBody $body
     * @return Settled|SettlementList
     */
    public function settlePayment(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/x402/settle'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * List supported x402 payment kinds. Needs the scope `x402:verify`.
     *
     * @return Supported
     */
    public function getSupported(): array
    {
        return $this->call('GET', ['/x402/supported']);
    }

    /**
     * Verify an x402 payment. Needs the scope `x402:verify`.
     *
     * @param VerifyBody $body
     * @return VerifyResult
     */
    public function verifyPayment(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/x402/verify'], body: $body, key: $idempotencyKey, takesKey: true);
    }
}
