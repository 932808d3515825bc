<?php

// Operations of `/webhook_endpoints`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListWebhookEndpointsQuery from \Florin\Types
 * @phpstan-import-type NewWebhookEndpoint from \Florin\Types
 * @phpstan-import-type PatchedWebhookEndpointChanges from \Florin\Types
 * @phpstan-import-type TestDelivery from \Florin\Types
 * @phpstan-import-type WebhookEndpoint from \Florin\Types
 * @phpstan-import-type WebhookEndpointSecret from \Florin\Types
 */
final class WebhookEndpoints extends Resource
{
    /**
     * List webhook endpoints. Needs the scope `webhooks:read`.
     *
     * @param ListWebhookEndpointsQuery $query
     * @return Pages<WebhookEndpoint>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/webhook_endpoints'], $query);
    }

    /**
     * Create a webhook endpoint. Needs the scope `webhooks:write`.
     *
     * @param NewWebhookEndpoint $body
     * @return WebhookEndpointSecret
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/webhook_endpoints'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Get a webhook endpoint. Needs the scope `webhooks:read`.
     *
     * @return WebhookEndpoint
     */
    public function get(string $endpointId): array
    {
        return $this->call('GET', ['/webhook_endpoints/{}', $endpointId]);
    }

    /**
     * Update a webhook endpoint. Needs the scope `webhooks:write`.
     *
     * @param PatchedWebhookEndpointChanges $body
     * @return WebhookEndpoint
     */
    public function change(string $endpointId, array $body = []): array
    {
        return $this->call('PATCH', ['/webhook_endpoints/{}', $endpointId], body: $body);
    }

    /** Delete a webhook endpoint. Needs the scope `webhooks:write`. */
    public function delete(string $endpointId): void
    {
        $this->call('DELETE', ['/webhook_endpoints/{}', $endpointId]);
    }

    /**
     * Rotate the secret of a webhook endpoint. Needs the scope `webhooks:write`.
     *
     * @return WebhookEndpointSecret
     */
    public function rotateSecret(string $endpointId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/webhook_endpoints/{}/rotate_secret', $endpointId], key: $idempotencyKey, takesKey: true);
    }

    /**
     * Send a test event. Needs the scope `webhooks:write`.
     *
     * @return TestDelivery
     */
    public function test(string $endpointId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/webhook_endpoints/{}/test', $endpointId], key: $idempotencyKey, takesKey: true);
    }
}
