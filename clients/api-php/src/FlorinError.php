<?php

declare(strict_types=1);

namespace Florin;

/** Base of all errors of this package. */
class FlorinError extends \RuntimeException
{
}
