<?php

// Operations of `/disruptions`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ActiveDisruptionList from \Florin\Types
 */
final class Disruptions extends Resource
{
    /**
     * List what disrupts your payments now. Needs the scope `checkouts:read`.
     *
     * @return ActiveDisruptionList
     */
    public function list(): array
    {
        return $this->call('GET', ['/disruptions']);
    }
}
