<?php

// Operations of `/webhook_deliveries`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListWebhookDeliveriesQuery from \Florin\Types
 * @phpstan-import-type WebhookDelivery from \Florin\Types
 * @phpstan-import-type WebhookDeliveryDetail from \Florin\Types
 */
final class WebhookDeliveries extends Resource
{
    /**
     * List webhook deliveries. Needs the scope `webhooks:read`.
     *
     * @param ListWebhookDeliveriesQuery $query
     * @return Pages<WebhookDelivery>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/webhook_deliveries'], $query);
    }

    /**
     * Get a webhook delivery. Needs the scope `webhooks:read`.
     *
     * @return WebhookDeliveryDetail
     */
    public function get(string $deliveryId): array
    {
        return $this->call('GET', ['/webhook_deliveries/{}', $deliveryId]);
    }
}
