<prompt schema="personalisation">
  <adult/><self-taught/><project/>
  <user>How does a heat pump work?</user>
</prompt>
