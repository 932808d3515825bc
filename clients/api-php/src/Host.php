<?php

declare(strict_types=1);

namespace Florin;

/** What the host of an address is. */
final class Host
{
    /** Whether it is this machine: what goes there in the open stays here. */
    public static function isLoopback(string $host): bool
    {
        return in_array($host, ['localhost', '[::1]'], true) || preg_match('/^127(\.\d+){3}\z/', $host) === 1;
    }
}
