<?php

declare(strict_types=1);

namespace Florin;

/** What carries requests: give `Florin` one of your own to use curl, a PSR-18 client or a proxy. It follows no redirect. */
interface Sender
{
    /** @throws NoAnswerError */
    public function send(#[\SensitiveParameter] Request $request): Reply;
}
