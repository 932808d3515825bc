<?php

// Operations of `/chains`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ChainList from \Florin\Types
 */
final class Chains extends Resource
{
    /**
     * List supported chains.
     *
     * @return ChainList
     */
    public function list(): array
    {
        return $this->call('GET', ['/chains']);
    }
}
