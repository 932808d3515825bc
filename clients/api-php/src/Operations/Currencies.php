<?php

// Operations of `/currencies`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type CurrencyList from \Florin\Types
 */
final class Currencies extends Resource
{
    /**
     * List currencies of prices.
     *
     * @return CurrencyList
     */
    public function list(): array
    {
        return $this->call('GET', ['/currencies']);
    }
}
