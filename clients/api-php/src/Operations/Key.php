<?php

// Operations of `/key`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type KeyBody from \Florin\Types
 */
final class Key extends Resource
{
    /**
     * Get the key of this request.
     *
     * @return KeyBody
     */
    public function get(): array
    {
        return $this->call('GET', ['/key']);
    }
}
