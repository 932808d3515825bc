<?php

declare(strict_types=1);

namespace Florin;

/**
 * Base of all errors of this package. `$idempotencyKey` is what the failed request was sent with, null without one: where its outcome is
 * unknown, give the same to make the same call again.
 */
class FlorinError extends \RuntimeException
{
    public ?string $idempotencyKey = null;
}
