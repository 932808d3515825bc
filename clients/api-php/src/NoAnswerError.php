<?php

declare(strict_types=1);

namespace Florin;

/** No complete, readable answer came, so it is unknown whether the server acted. */
class NoAnswerError extends FlorinError
{
}
