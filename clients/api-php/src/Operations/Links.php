<?php

// Operations of `/links`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListLinksQuery from \Florin\Types
 * @phpstan-import-type NewLink from \Florin\Types
 * @phpstan-import-type PatchedLinkChanges from \Florin\Types
 * @phpstan-import-type PatchedNewLinkStatus from \Florin\Types
 * @phpstan-import-type PaymentLink from \Florin\Types
 */
final class Links extends Resource
{
    /**
     * List payment links. Needs the scope `links:read`.
     *
     * @param ListLinksQuery $query
     * @return Pages<PaymentLink>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/links'], $query);
    }

    /**
     * Create a payment link. Needs the scope `links:write`.
     *
     * @param NewLink $body
     * @return PaymentLink
     */
    public function create(array $body = [], ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/links'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Get a payment link. Needs the scope `links:read`.
     *
     * @return PaymentLink
     */
    public function get(string $linkId): array
    {
        return $this->call('GET', ['/links/{}', $linkId]);
    }

    /**
     * Update a payment link. Needs the scope `links:write`.
     *
     * @param PatchedLinkChanges $body
     * @return PaymentLink
     */
    public function change(string $linkId, array $body = []): array
    {
        return $this->call('PATCH', ['/links/{}', $linkId], body: $body);
    }

    /** Get a link's QR code as PNG. Needs the scope `links:read`. */
    public function getQrPng(string $linkId): string
    {
        return $this->call('GET', ['/links/{}/qr.png', $linkId], raw: true);
    }

    /** Get a link's QR code as SVG. Needs the scope `links:read`. */
    public function getQrSvg(string $linkId): string
    {
        return $this->call('GET', ['/links/{}/qr.svg', $linkId], raw: true);
    }

    /**
     * Pause, archive or activate a link. Needs the scope `links:write`.
     *
     * @param PatchedNewLinkStatus $body
     * @return PaymentLink
     */
    public function setStatus(string $linkId, array $body = []): array
    {
        return $this->call('PATCH', ['/links/{}/status', $linkId], body: $body);
    }
}
