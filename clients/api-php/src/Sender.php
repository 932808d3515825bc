<?php

declare(strict_types=1);

namespace Florin;

/** What carries requests: `CurlSender`, `StreamSender`, `Psr18Sender`, or one of your own. It follows no redirect, and repeats nothing. */
interface Sender
{
    /** @throws NoAnswerError */
    public function send(#[\SensitiveParameter] Request $request): Reply;
}
