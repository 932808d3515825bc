<?php

declare(strict_types=1);

namespace Florin;

/** A webhook is genuine, and of the other mode, test or live. Answer 2xx, and do nothing else. */
class OtherModeError extends FlorinError
{
}
