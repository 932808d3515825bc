<?php

// Operations of `/link_templates`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type DeletedTemplate from \Florin\Types
 * @phpstan-import-type LinkTemplate from \Florin\Types
 * @phpstan-import-type ListLinkTemplatesQuery from \Florin\Types
 * @phpstan-import-type NewLinkTemplate from \Florin\Types
 */
final class LinkTemplates extends Resource
{
    /**
     * List link templates. Needs the scope `links:read`.
     *
     * @param ListLinkTemplatesQuery $query
     * @return Pages<LinkTemplate>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/link_templates'], $query);
    }

    /**
     * Create a link template. Needs the scope `links:write`.
     *
     * @param NewLinkTemplate $body
     * @return LinkTemplate
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/link_templates'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Get a link template. Needs the scope `links:read`.
     *
     * @return LinkTemplate
     */
    public function get(string $templateId): array
    {
        return $this->call('GET', ['/link_templates/{}', $templateId]);
    }

    /**
     * Delete a link template. Needs the scope `links:write`.
     *
     * @return DeletedTemplate
     */
    public function delete(string $templateId): array
    {
        return $this->call('DELETE', ['/link_templates/{}', $templateId]);
    }
}
