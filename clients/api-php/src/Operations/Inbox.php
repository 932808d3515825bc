<?php

// Operations of `/inbox`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type InboxItem from \Florin\Types
 * @phpstan-import-type ListItemsInboxQuery from \Florin\Types
 */
final class Inbox extends Resource
{
    /**
     * List inbox items. Needs the scope `inbox:read`.
     *
     * @param ListItemsInboxQuery $query
     * @return Pages<InboxItem>
     */
    public function listItems(array $query = []): Pages
    {
        return $this->pages(['/inbox'], $query);
    }

    /**
     * Get an inbox item. Needs the scope `inbox:read`.
     *
     * @return InboxItem
     */
    public function getItem(string $itemId): array
    {
        return $this->call('GET', ['/inbox/{}', $itemId]);
    }
}
