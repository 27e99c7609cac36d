<prompt schema="city-guide">
  <user><oslo/><zurich><zurich-food/></zurich>What does the bakery of Zurich sell?</user>
</prompt>
