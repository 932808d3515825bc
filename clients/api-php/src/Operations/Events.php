<?php

// Operations of `/events`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type EventBody from \Florin\Types
 * @phpstan-import-type ListEventsQuery from \Florin\Types
 */
final class Events extends Resource
{
    /**
     * List events. Needs the scope `events:read`.
     *
     * @param ListEventsQuery $query
     * @return Pages<EventBody>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/events'], $query);
    }

    /**
     * Get an event. Needs the scope `events:read`.
     *
     * @return EventBody
     */
    public function get(string $eventId): array
    {
        return $this->call('GET', ['/events/{}', $eventId]);
    }
}
