<?php

declare(strict_types=1);

namespace Florin;

/** A webhook is not signed by any of the secrets, or too long ago. Answer 400. */
class SignatureError extends FlorinError
{
}
